#!/usr/bin/env bash
# Writes the types of the TypeScript client from the contract. "make generate" runs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/install-clients.sh sdk/typescript >/dev/null
node sdk/typescript/generate.js
