#!/bin/sh
# Makes every workload and topology of this directory again; see README.md.
# DAGSPLIT is the program to use, by default the one that cargo builds from this tree.
set -eu
cd "$(dirname "$0")"
dagsplit=${DAGSPLIT:-cargo run --quiet --release --}

make() {
    file=$1
    shift
    # The program may be several words, so it stays unquoted.
    $dagsplit generate "$@" --output "$file"
}

make bert12_inference.json transformer --style bert --layers 12
make bert12_elementary_inference.json transformer --style bert --layers 12 --elementary
make bert6_training.json transformer --style bert --layers 6 --head language-model --training
make gpt24_inference.json transformer --style gpt --layers 24 --hidden 1024 --heads 16 --feed-forward 4096 \
    --sequence 1024 --positions 1024 --vocabulary 50257 --batch 8 --head language-model \
    --accelerator a100 --precision fp16
make resnet50_inference.json resnet --depth 50
make resnet50_training.json resnet --depth 50 --training
make inceptionv3_inference.json inception
make inceptionv3_training.json inception --training
make nasnet_mobile_inference.json nasnet --repeats 4 --filters 1056 --stem-filters 32 --resolution 224 --accelerators 3
make nasnet_large_inference.json nasnet --repeats 6 --filters 4032 --stem-filters 96 --resolution 331 \
    --accelerators 4 --accelerator a100

layers() {
    file=$1
    shift
    make "$file" llm --tensor-degrees 1,2,4,8 --accelerator h100 --precision fp16 --cpus 0 "$@"
}

layers llama3_8b_layers.json --model llama3-8b --accelerators 8
layers mixtral_8x7b_layers.json --model mixtral-8x7b --accelerators 16

mkdir -p topologies
topology() {
    file=$1
    shift
    make "topologies/$file.json" topology "$@"
}

topology hierarchical-4x4 hierarchical
topology dgx1-4x8 dgx1
topology mesh-4x4 mesh --shape 4x4
topology torus-4x4 torus --shape 4x4
topology mesh-8x8 mesh --shape 8x8
topology torus-8x8 torus --shape 8x8
topology mesh-4x4x4 mesh --shape 4x4x4
topology torus-4x4x4 torus --shape 4x4x4
topology random-blk-1-64 random-blk-1
topology random-blk-2-64 random-blk-2
topology uniform-dist-64 uniform-dist
topology fat-tree-16 fat-tree
topology dgx-a100-4x8 nvswitch --server dgx-a100
topology dgx-h100-4x8 nvswitch --server dgx-h100
