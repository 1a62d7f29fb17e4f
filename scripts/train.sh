#!/usr/bin/env bash
# Trains the adapters of both encoders and writes them to internal/encoder, then the network over vectors of sentences that internal/said
# has (see tools/train/README.md). TRAIN_DATA names the folder with published data; without it the corpus alone teaches, and only its held
# part is measured. What was computed is kept in TRAIN_WORK and not computed again, so an interrupted run continues. STEPS="1400 1200" are
# those of each encoder, SEED the seed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cache=${XDG_CACHE_HOME:-$HOME/.cache}/slipbox
work=${TRAIN_WORK:-$cache/training}
weights=${SLIPBOX_ENCODER_DIR:-$cache/encoder}
python=$cache/train/bin/python
read -r first second <<<"${STEPS:-1400 1200}"
mkdir -p "$work"

if ! "$python" -c 'import torch, tokenizers' 2>/dev/null; then
	echo "installing PyTorch into $cache/train"
	python3 -m venv "$cache/train"
	"$python" -m pip install --quiet --requirement tools/train/requirements.txt
fi

echo "reading the data"
go run ./tools/train/texts "$weights" corpus/dialogues "${TRAIN_DATA:-}" >"$work/texts.new"
mv "$work/texts.new" "$work/texts.ndjson"

common=(--texts "$work/texts.ndjson" --encoder "$weights" --work "$work")
"$python" tools/train/train.py minilm "${common[@]}" --steps "$first" --seed "${SEED:-1}" --threads "${THREADS:-1}"
"$python" tools/train/train.py e5 "${common[@]}" --steps "$second" --seed "${SEED:-1}" --threads "${THREADS:-1}"
"$python" tools/train/export.py "${common[@]}"
echo "leading the network that reads the second encoder's vectors of sentences to the new ones"
go run ./tools/heads -parts kinds -kinds internal/said/kinds.bin
go test ./internal/encoder -run Adapter
