from .batches import mlm_batch as mlm_batch
from .beyond.electra import Electra as Electra
from .beyond.electra import ElectraDiscriminator as ElectraDiscriminator
from .beyond.heads import (
    BertForSequenceClassification as BertForSequenceClassification,
)
from .beyond.heads import (
    BertForTokenClassification as BertForTokenClassification,
)
from .beyond.modern import ModernForMLM as ModernForMLM
from .beyond.zoo import load as load
from .beyond.zoo import save as save
from .checkpoint import (
    checkpoint_report as checkpoint_report,
)
from .checkpoint import (
    hf_bert_encoder_sd as hf_bert_encoder_sd,
)
from .checkpoint import (
    load_bert as load_bert,
)
from .checkpoint import (
    load_hf_bert as load_hf_bert,
)
from .checkpoint import (
    save_bert as save_bert,
)
from .data.datasets import MLMCollator as MLMCollator
from .data.datasets import MLMDataset as MLMDataset
from .data.wholeword import mask_whole_words as mask_whole_words
from .masking import mlm_mask as mlm_mask
from .model import (
    BertConfig as BertConfig,
)
from .model import (
    BertEncoder as BertEncoder,
)
from .model import (
    BertForMLM as BertForMLM,
)
from .model import (
    BertLayer as BertLayer,
)
from .model import (
    attention_maps as attention_maps,
)
from .model import (
    fill_mask as fill_mask,
)
from .model import (
    influence as influence,
)
from .rng import (
    PCG32 as PCG32,
)
from .rng import (
    ScriptedDraws as ScriptedDraws,
)
from .rng import (
    example_stream as example_stream,
)
from .rng import (
    normal_init as normal_init,
)
from .rng import (
    sample_categorical as sample_categorical,
)
from .training.shipped import manual_bert as manual_bert
from .wordpiece import WordPieceTokenizer as WordPieceTokenizer
from .wordpiece import special_ids as special_ids

__version__: str
