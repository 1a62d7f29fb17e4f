#!/usr/bin/env bash
# Generates the Python client's types from the contract, with the versions that test/clients/sdk-python pins.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

installed=$(scripts/install-clients.sh sdk-python)
PYTHONDONTWRITEBYTECODE=1 RUFF_NO_CACHE=true "$installed/venv/bin/python" sdk/python/generate.py
