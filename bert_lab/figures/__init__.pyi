from .attention import attention_grid as attention_grid
from .attention import blank_scores as blank_scores
from .base import BookFigure as BookFigure
from .base import html_image as html_image
from .base import png as png
from .beyond import seed_dots as seed_dots
from .course import share_bars as share_bars
from .encoder import attention_map as attention_map
from .encoder import gelu_gap as gelu_gap
from .encoder import parity_ladder as parity_ladder
from .masking import (
    batch_counts as batch_counts,
)
from .masking import (
    masking_report as masking_report,
)
from .masking import (
    p_value_histogram as p_value_histogram,
)
from .masking import (
    picks_per_row as picks_per_row,
)
from .masking import (
    power_curves as power_curves,
)
from .masking import (
    row_joint as row_joint,
)
from .masking import (
    shown_shares as shown_shares,
)
from .masking import (
    token_strip as token_strip,
)
from .prediction import (
    fill_bars as fill_bars,
)
from .prediction import (
    influence_matrix as influence_matrix,
)
from .prediction import (
    loss_ladder as loss_ladder,
)
from .training import (
    hit_bars as hit_bars,
)
from .training import (
    reveal_curves as reveal_curves,
)
from .training import (
    training_curves as training_curves,
)
