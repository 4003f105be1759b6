"""Models as PyTorch's tutorials and model zoos write them, small, each with arguments."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - so all of PyTorch's users call it
from torch import nn


class Residual(nn.Module):
    def __init__(self, channels: int = 8, stride: int = 1) -> None:
        super().__init__()
        conv = {"kernel_size": 3, "padding": 1, "bias": False}
        self.a, self.b = (
            nn.Conv2d(channels, channels, stride=stride, **conv),
            nn.BatchNorm2d(channels),
        )
        self.c, self.d = nn.Conv2d(channels, channels, **conv), nn.BatchNorm2d(channels)
        self.short = nn.Conv2d(channels, channels, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.short(x) + self.d(self.c(F.relu(self.b(self.a(x))))))


class Recurrent(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.layers = kind(4, 8, 2, batch_first=True)

    def forward(self, x):
        return self.layers(x)[0]


class BothWays(nn.Module):
    """Layers of an LSTM whose first states are learned, and whose last ones are results."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.LSTM(4, 8, 2, bidirectional=True, bias=False)
        self.h, self.c = nn.Parameter(R(4, 1, 8)), nn.Parameter(R(4, 1, 8))

    def forward(self, x):
        first = [state.expand(-1, x.shape[1], -1).contiguous() for state in (self.h, self.c)]
        made, (h, c) = self.layers(x, tuple(first))
        return made, h, 2 * c


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 8)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], 8)
        found = []
        for step in range(x.shape[1]):
            h, c = self.cell(x[:, step], (h, c))
            found.append(h)
        return torch.stack(found, 1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def heads(self, x):
        batch, time, _ = x.shape
        return self.qkv(x).view(batch, time, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)

    def forward(self, x):
        made = F.scaled_dot_product_attention(*self.heads(x), is_causal=True)
        return self.out(made.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, attention: Any = Attention) -> None:
        super().__init__()
        self.attention, self.one, self.two = attention(), nn.LayerNorm(16), nn.LayerNorm(16)
        self.wide = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))

    def forward(self, x, *rest):
        x = x + self.attention(self.one(x), *rest)
        return x + self.wide(self.two(x))


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.blocks, self.head = nn.Sequential(Block(), Block()), nn.Linear(16, 50)

    def forward(self, words, wanted):
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        return F.cross_entropy(self.head(self.blocks(x)).flatten(0, 1), wanted.flatten())


class CachedAttention(Attention):
    """Attention to all that was before, which buffers hold."""

    def __init__(self, length: int = 8) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 4, length, 4))
        self.register_buffer("values", torch.zeros(1, 4, length, 4))

    def forward(self, x, place):
        query, key, value = self.heads(x)
        self.keys.index_copy_(2, place, key)
        self.values.index_copy_(2, place, value)
        before = torch.arange(self.keys.shape[2]) <= place
        made = F.scaled_dot_product_attention(
            query, self.keys, self.values, before[None, None, None]
        )
        return self.out(made.transpose(1, 2).reshape(x.shape))


class Generator(nn.Module):
    """One step of a GPT that writes, a word a call."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.block, self.head = (
            nn.Embedding(50, 16),
            Block(CachedAttention),
            nn.Linear(16, 50),
        )

    def forward(self, word, place):
        return self.head(self.block(self.words(word), place))[:, -1].argmax(-1, keepdim=True)


class Bags(nn.Module):
    def __init__(self, mode: str, padding: int | None = None) -> None:
        super().__init__()
        self.bags = nn.EmbeddingBag(20, 8, mode=mode, padding_idx=padding)
        self.out = nn.Linear(8, 3)

    def forward(self, words, offsets):
        return self.out(self.bags(words, offsets))


class Vae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(12, 8), nn.Linear(4, 12)

    def forward(self, x):
        mean, logarithm = self.down(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logarithm)
        apart = F.binary_cross_entropy_with_logits(self.up(z), torch.sigmoid(x))
        return apart - 0.5 * (1 + logarithm - mean**2 - logarithm.exp()).sum()


class Unet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1, stride=2)
        self.up, self.out = nn.ConvTranspose2d(16, 8, 2, stride=2), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = F.silu(self.a(x))
        return self.out(torch.cat([a, self.up(F.silu(self.b(a)))], 1))


class Detection(nn.Module):
    """The head of a detector: the best boxes, their scores and labels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.classes, self.boxes = nn.Conv2d(8, 12, 1), nn.Conv2d(8, 12, 1)

    def forward(self, x):
        x = F.relu(self.conv(x))
        rows = [part(x).view(len(x), 3, 4, -1).permute(0, 3, 1, 2).reshape(len(x), -1, 4)
                for part in (self.classes, self.boxes)]  # fmt: skip
        score, label = rows[0].softmax(-1).max(-1)
        best, place = score.topk(5, dim=1)
        box = rows[1].gather(1, place[..., None].expand(-1, -1, 4))
        middle, size = box[..., :2].sigmoid(), box[..., 2:].exp()
        return torch.cat([middle - size / 2, middle + size / 2], -1), best, label.gather(1, place)


def _words(*dims: int) -> torch.Tensor:
    return torch.randint(0, 20, dims)


R = torch.randn
BAGS = (lambda: _words(9), lambda: torch.tensor([0, 3, 3, 7]))
# fmt: off
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[Callable[[], torch.Tensor], ...]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (lambda: R(3, 4),)),
    "cnn": (lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.3),
        nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (lambda: R(2, 3, 8, 8),)),
    "resnet": (lambda: nn.Sequential(
        nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1), Residual(), Residual(8, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(8, 10)), (lambda: R(2, 3, 32, 32),)),
    "encoder": (lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.1),
                (lambda: R(2, 5, 16),)),
    "decoder": (lambda: nn.TransformerDecoderLayer(16, 4, 32, batch_first=True, norm_first=True),
                (lambda: R(2, 5, 16), lambda: R(2, 7, 16))),
    "causal attention": (Attention, (lambda: R(2, 6, 16),)),
    "multi-head attention": (lambda: nn.MultiheadAttention(16, 2, batch_first=True),
                             (lambda: R(2, 5, 16),) * 3),
    "gpt": (Gpt, (lambda: _words(2, 8), lambda: _words(2, 8))),
    "lstm": (lambda: Recurrent(nn.LSTM), (lambda: R(2, 3, 4),)),
    "lstm both ways": (BothWays, (lambda: R(3, 2, 4),)),
    "gru": (lambda: Recurrent(nn.GRU), (lambda: R(2, 3, 4),)),
    "lstm cells": (Cells, (lambda: R(2, 5, 4),)),
    "embedding bags, sums": (lambda: Bags("sum"), BAGS),
    "embedding bags, means": (lambda: Bags("mean", 3), BAGS),
    "vae": (Vae, (lambda: R(4, 12),)),
    "unet": (Unet, (lambda: R(2, 3, 8, 8),)),
    "detection head": (Detection, (lambda: R(2, 8, 4, 4),)),
    "group norm": (lambda: nn.Sequential(
        nn.Conv2d(4, 8, 3, groups=2), nn.GroupNorm(2, 8), nn.SiLU(),
        nn.AvgPool2d(2, ceil_mode=True, padding=1)), (lambda: R(2, 4, 9, 9),)),
    "sound": (lambda: nn.Sequential(
        nn.Conv1d(2, 4, 3, dilation=2, padding=2), nn.InstanceNorm1d(4), nn.LeakyReLU(),
        nn.MaxPool1d(2), nn.Flatten(), nn.Linear(20, 3)), (lambda: R(2, 2, 10),)),
    "video": (lambda: nn.Sequential(
        nn.Conv3d(2, 4, 3, bias=False), nn.BatchNorm3d(4), nn.ELU(), nn.AvgPool3d(2)),
        (lambda: R(2, 2, 6, 6, 6),)),
    "mobile": (lambda: nn.Sequential(
        nn.Conv2d(4, 4, 3, groups=4, padding="same"), nn.Hardswish(), nn.Conv2d(4, 8, 1),
        nn.PixelShuffle(2)), (lambda: R(2, 4, 6, 6),)),
    "super-resolution": (lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.Upsample(scale_factor=2), nn.Conv2d(4, 4, 3),
        nn.Upsample(scale_factor=2, mode="bilinear")), (lambda: R(1, 3, 6, 6),)),
    "generator of images": (lambda: nn.Sequential(
        nn.ConvTranspose2d(3, 6, 3, stride=2, padding=1, output_padding=1, groups=3),
        nn.Softplus(), nn.ReflectionPad2d(1), nn.Conv2d(6, 2, 3)), (lambda: R(2, 3, 5, 5),)),
    "bilinear": (lambda: nn.Bilinear(3, 4, 5), (lambda: R(2, 3), lambda: R(2, 4))),
    "classifier of words": (lambda: nn.Sequential(
        nn.Embedding(20, 4, padding_idx=0), nn.RMSNorm(4), nn.Linear(4, 2), nn.LogSoftmax(-1)),
        (lambda: _words(3, 4),)),
    "weight norm": (lambda: nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 2),
        nn.Softmax(-1)), (lambda: R(3, 4),)),
    "bf16": (lambda: nn.Sequential(
        nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)).bfloat16(),
        (lambda: R(3, 8).bfloat16(),)),
}
# fmt: on
