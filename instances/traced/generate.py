"""Makes every workload of this directory again; see README.md. Needs `pip install '.[models]'`."""

import argparse
import sys
from pathlib import Path

from dagsplit_profile.cli import main

WORKLOADS = {
    "resnet152_inference": "resnet152 --roofline v100 --batch 32 --cpu-times",
    "resnet152_training": "resnet152 --roofline v100 --batch 32 --training",
    "inception_v3_fp16_inference": "inception-v3 --roofline a100 --dtype fp16 --batch 32",
    "fpn_inference": "fpn --roofline a100 --batch 4 --cpu-times",
    "nasnet_a_cells_inference": "nasnet-a --roofline v100 --batch 16 --atomic cell_* --cpu-times",
    "vit_b_fp16_inference": "vit-b --roofline a100 --dtype fp16 --batch 32 --cpu-times",
    "swin_l_fp16_inference": "swin-l --roofline a100 --dtype fp16 --batch 32 --accelerators 4",
    "bert_base_fp16_training": "bert-base --roofline a100 --dtype fp16 --batch 8 --training",
    "bert_large_fp16_inference": "bert-large --roofline a100 --dtype fp16 --batch 8 --cpu-times",
    "bert_large_layers_training": "bert-large --roofline a100 --dtype fp16 --batch 8 --atomic BertLayer --training",
    "bert_48_layers_fp16_inference": "bert-large --layers 48 --roofline h100 --dtype fp16 --batch 8",
    "gpt2_medium_fp16_inference": "gpt2-medium --roofline a100 --dtype fp16 --batch 4",
    "gpt2_fp16_training": "gpt2 --roofline a100 --dtype fp16 --batch 4 --training",
    "moe_fp16_inference": "moe --layers 6 --roofline h100 --dtype fp16 --batch 8",
    "moe_fp16_training": "moe --layers 4 --roofline h100 --dtype fp16 --batch 8 --training --accelerators 8",
}


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("names", nargs="*", choices=[*WORKLOADS, []], help="the workloads to make [all]")
options = parser.parse_args()
for name in options.names or WORKLOADS:
    print(name, flush=True)
    code = main([*WORKLOADS[name].split(), "--output", str(Path(__file__).parent / f"{name}.json")])
    if code != 0:
        sys.exit(code)
