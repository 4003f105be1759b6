"""25 networks of PyTorch of any size: small ones are tested, larger ones are measured."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - so all of PyTorch's users call it
from torch import nn

R = torch.randn
WORDS = 40


@dataclass(frozen=True)
class Size:
    """How wide the layers are, and how many examples there are of which length or side."""

    width: int = 8
    batch: int = 2
    length: int = 8


Network = tuple[nn.Module, list[torch.Tensor]]
NETWORKS: dict[str, Callable[[Size], Network]] = {}


def network(make: Callable[[Size], Network]) -> Callable[[Size], Network]:
    """Enter a network under its function's name."""
    NETWORKS[make.__name__.replace("_", " ").strip()] = make
    return make


def words(*dims: int) -> torch.Tensor:
    return torch.randint(0, WORDS, dims)


class Added(nn.Module):
    """The input, and what layers make of it."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


class Swapped(nn.Sequential):
    """Layers that work along the last dimension but one."""

    def forward(self, x):
        return super().forward(x.transpose(-1, -2)).transpose(-1, -2)


class Heads(nn.Module):
    """Attention of each place to all, or to those before it."""

    def __init__(self, width: int, *, causal: bool = False) -> None:
        super().__init__()
        self.qkv, self.out, self.causal = (
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
            causal,
        )

    def forward(self, x):
        each = self.qkv(x).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        made = F.scaled_dot_product_attention(*each, is_causal=self.causal)
        return self.out(made.transpose(1, 2).flatten(2))


def block(width: int, **options: Any) -> nn.Module:
    """A layer of a transformer."""
    wide = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
    return nn.Sequential(
        Added(nn.LayerNorm(width), Heads(width, **options)), Added(nn.LayerNorm(width), *wide)
    )


def convolution(a: int, b: int, stride: int = 1) -> nn.Module:
    conv = nn.Conv2d(a, b, 3, stride, padding=1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(b), nn.ReLU())


@network
def mlp(s: Size) -> Network:
    layers = nn.Linear(s.width, 4 * s.width), nn.ReLU(), nn.Linear(4 * s.width, 10)
    return nn.Sequential(*layers), [R(s.batch, s.width)]


@network
def cnn_with_batch_norm(s: Size) -> Network:
    layers = convolution(3, s.width), nn.MaxPool2d(2), convolution(s.width, s.width, 2)
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(s.width, 10)
    return nn.Sequential(*layers, *head), [R(s.batch, 3, s.length, s.length)]


@network
def resnet(s: Size) -> Network:
    def residual() -> nn.Module:
        inner = nn.Conv2d(s.width, s.width, 3, padding=1), nn.BatchNorm2d(s.width)
        return nn.Sequential(Added(convolution(s.width, s.width), *inner), nn.ReLU())

    stem = convolution(3, s.width, 2), residual(), residual()
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(s.width, 10)
    return nn.Sequential(*stem, *head), [R(s.batch, 3, s.length, s.length)]


@network
def causal_transformer(s: Size) -> Network:
    layers = block(s.width, causal=True), block(s.width, causal=True)
    return nn.Sequential(*layers), [R(s.batch, s.length, s.width)]


@network
def transformer_encoder(s: Size) -> Network:
    layer = nn.TransformerEncoderLayer(s.width, 4, 4 * s.width, 0.1, batch_first=True)
    return layer, [R(s.batch, s.length, s.width)]


class Gpt(nn.Module):
    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(block(width, causal=True), block(width, causal=True))
        self.head = nn.Linear(width, WORDS)

    def forward(self, x, wanted):
        made = self.words(x) + self.places(torch.arange(x.shape[1]))
        return F.cross_entropy(self.head(self.blocks(made)).flatten(0, 1), wanted.flatten())


@network
def gpt(s: Size) -> Network:
    return Gpt(s.width, s.length), [words(s.batch, s.length), words(s.batch, s.length)]


class Last(nn.Module):
    """The states of a recurrent layer, and words of them."""

    def __init__(self, kind: Any, width: int) -> None:
        super().__init__()
        self.layer, self.out = kind(width, width, batch_first=True), nn.Linear(width, 10)

    def forward(self, x):
        return self.out(self.layer(x)[0])


@network
def lstm(s: Size) -> Network:
    return Last(nn.LSTM, s.width), [R(s.batch, s.length, s.width)]


@network
def gru(s: Size) -> Network:
    return Last(nn.GRU, s.width), [R(s.batch, s.length, s.width)]


class ConvLstm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gates = nn.Conv2d(3 + width, 4 * width, 3, padding=1)

    def forward(self, frames):
        batch, _, _, *side = frames.shape
        h = c = frames.new_zeros(batch, self.gates.out_channels // 4, *side)
        for frame in frames.unbind(1):
            i, f, o, g = self.gates(torch.cat([frame, h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


@network
def convolutional_lstm(s: Size) -> Network:
    return ConvLstm(s.width // 2), [R(s.batch, 3, 3, s.length, s.length)]


class EmbeddingBags(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.bags, self.out = nn.EmbeddingBag(WORDS, width, mode="mean"), nn.Linear(width, 3)

    def forward(self, x):
        return self.out(self.bags(x))


@network
def embedding_bags(s: Size) -> Network:
    return EmbeddingBags(s.width), [words(s.batch, s.length)]


class Detector(nn.Module):
    """The best boxes of all places of an image."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.base = convolution(3, width)
        self.classes, self.boxes = nn.Conv2d(width, 12, 1), nn.Conv2d(width, 12, 1)

    def forward(self, x):
        x = self.base(x)
        classes, boxes = (
            part(x).unflatten(1, (3, 4)).permute(0, 3, 4, 1, 2).flatten(1, 3)
            for part in (self.classes, self.boxes)
        )
        best, place = classes.softmax(-1).amax(-1).topk(5, dim=1)
        box = boxes.gather(1, place[..., None].expand(-1, -1, 4))
        middle, size = box[..., :2].sigmoid(), box[..., 2:].exp()
        return torch.cat([middle - size / 2, middle + size / 2], -1), best


@network
def detection_head(s: Size) -> Network:
    return Detector(s.width), [R(s.batch, 3, s.length, s.length)]


class Unet(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b = convolution(3, width), convolution(width, 2 * width, 2)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.out = nn.Conv2d(2 * width, 2, 1)

    def forward(self, x):
        a = self.a(x)
        return self.out(torch.cat([a, self.up(self.b(a))], 1))


@network
def u_net(s: Size) -> Network:
    return Unet(s.width), [R(s.batch, 3, s.length, s.length)]


class Vae(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Linear(4 * width, width), nn.ReLU(), nn.Linear(width, 16))
        self.up = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 4 * width))

    def forward(self, x):
        mean, logarithm = self.down(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logarithm)
        apart = F.mse_loss(self.up(z), x)
        return apart - 0.5 * (1 + logarithm - mean**2 - logarithm.exp()).mean()


@network
def vae(s: Size) -> Network:
    return Vae(s.width), [R(s.batch, 4 * s.width)]


class Experts(nn.Module):
    """A mixture of four experts, of which each word asks the two best."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, 4)
        self.up = nn.Parameter(R(4, width, 2 * width) / width**0.5)
        self.down = nn.Parameter(R(4, 2 * width, width) / width**0.5)

    def forward(self, x):
        best, which = self.gate(x).topk(2, -1)
        shares = torch.zeros(*x.shape[:-1], 4).scatter(-1, which, best.softmax(-1))
        inner = F.gelu(torch.einsum("blw,ewv->belv", x, self.up))
        return torch.einsum("belv,evw,ble->blw", inner, self.down, shares)


@network
def mixture_of_experts(s: Size) -> Network:
    return Experts(s.width), [R(s.batch, s.length, s.width)]


class Vit(nn.Module):
    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, stride=4)
        self.first = nn.Parameter(R(1, 1, width))
        self.places = nn.Parameter(R(1, 1 + (length // 4) ** 2, width))
        self.blocks, self.out = nn.Sequential(block(width), block(width)), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        return self.out(self.blocks(x)[:, 0])


@network
def vision_transformer(s: Size) -> Network:
    return Vit(s.width, s.length), [R(s.batch, 3, s.length, s.length)]


class Windows(nn.Module):
    """Attention inside of windows of 4 x 4, which have moved by two."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = Heads(width)

    def forward(self, x):
        batch, rows, columns, width = x.shape
        x = torch.roll(x, (-2, -2), (1, 2)).view(batch, rows // 4, 4, columns // 4, 4, width)
        x = self.heads(x.transpose(2, 3).reshape(-1, 16, width))
        x = x.view(batch, rows // 4, columns // 4, 4, 4, width).transpose(2, 3)
        return torch.roll(x.reshape(batch, rows, columns, width), (2, 2), (1, 2))


@network
def window_attention(s: Size) -> Network:
    layers = Added(nn.LayerNorm(s.width), Windows(s.width)), nn.Linear(s.width, 4)
    return nn.Sequential(*layers), [R(s.batch, s.length, s.length, s.width)]


class GraphConvolution(nn.Module):
    """Each node takes the mean of its neighbours, along a list of edges."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own, self.others = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, edges):
        start, end = edges
        total = torch.zeros_like(x).index_add(0, end, x[start])
        count = torch.zeros(len(x)).index_add(0, end, torch.ones(len(end))).clamp(min=1)
        return F.relu(self.own(x) + self.others(total / count[:, None]))


@network
def graph_convolution(s: Size) -> Network:
    edges = torch.randint(0, s.batch * s.length, (2, 4 * s.batch * s.length))
    return GraphConvolution(s.width), [R(s.batch * s.length, s.width), edges]


class Siamese(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.same = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, a, b, c):
        return F.triplet_margin_loss(self.same(a), self.same(b), self.same(c))


@network
def siamese(s: Size) -> Network:
    return Siamese(s.width), [R(s.batch, s.width) for _ in range(3)]


class SkipGram(nn.Module):
    """word2vec: a word, one near it, and others that are not."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.words, self.near = nn.Embedding(WORDS, width), nn.Embedding(WORDS, width)

    def forward(self, word, near, others):
        word = self.words(word)
        right = F.logsigmoid((word * self.near(near)).sum(-1))
        wrong = F.logsigmoid(-(self.near(others) @ word[..., None])).sum((-1, -2))
        return -(right + wrong).mean()


@network
def word2vec(s: Size) -> Network:
    count = s.batch * s.length
    return SkipGram(s.width), [words(count), words(count), words(count, 5)]


class Wavenet(nn.Module):
    """Dilated causal convolutions with gates."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.gates = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2**k) for k in range(3))
        self.out = nn.Conv1d(width, 16, 1)

    def forward(self, x):
        x = self.first(x)
        for conv in self.gates:
            made, gate = conv(F.pad(x, (conv.dilation[0], 0))).chunk(2, 1)
            x = x + torch.tanh(made) * torch.sigmoid(gate)
        return self.out(F.relu(x))


@network
def dilated_convolutions(s: Size) -> Network:
    return Wavenet(s.width), [R(s.batch, 1, 8 * s.length)]


@network
def mlp_mixer(s: Size) -> Network:
    places = nn.Linear(s.length, 2 * s.length), nn.GELU(), nn.Linear(2 * s.length, s.length)
    wide = nn.Linear(s.width, 2 * s.width), nn.GELU(), nn.Linear(2 * s.width, s.width)
    layers = (
        Added(nn.LayerNorm(s.width), Swapped(*places)),
        Added(nn.LayerNorm(s.width), *wide),
        nn.Linear(s.width, 10),
    )
    return nn.Sequential(*layers), [R(s.batch, s.length, s.width)]


class Translator(nn.Module):
    """A GRU that reads, and a cell that writes and looks at all that was read."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.reader, self.writer = (
            nn.GRU(width, width, batch_first=True),
            nn.GRUCell(2 * width, width),
        )
        self.out = nn.Linear(width, WORDS)

    def forward(self, read, written):
        states, last = self.reader(self.words(read))
        state, found = last[0], []
        for word in written.unbind(1):
            weights = (states @ state[..., None]).softmax(1)
            seen = (weights * states).sum(1)
            state = self.writer(torch.cat([self.words(word), seen], -1), state)
            found.append(self.out(state))
        return torch.stack(found, 1)


@network
def sequence_to_sequence(s: Size) -> Network:
    return Translator(s.width), [words(s.batch, s.length), words(s.batch, s.length // 2)]


class Last2d(nn.Module):
    """Layers that want the channels last."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


@network
def convnext_block(s: Size) -> Network:
    wide = nn.Linear(s.width, 4 * s.width), nn.GELU(), nn.Linear(4 * s.width, s.width)
    depth = nn.Conv2d(s.width, s.width, 7, padding=3, groups=s.width)
    layer = Added(depth, Last2d(nn.LayerNorm(s.width), *wide))
    return layer, [R(s.batch, s.width, s.length, s.length)]


class Dlrm(nn.Module):
    """Features and places in tables, all pairs of which are multiplied: a recommendation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(WORDS, width, mode="sum") for _ in range(4))
        self.low = nn.Sequential(nn.Linear(13, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(width + 10, width), nn.ReLU(), nn.Linear(width, 1))
        self.register_buffer("pairs", torch.tril_indices(5, 5, -1))

    def forward(self, dense, places):
        low = self.low(dense)
        bags = [table(x) for table, x in zip(self.tables, places.unbind(1), strict=True)]
        each = torch.stack([low, *bags], 1)
        products = (each @ each.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return torch.sigmoid(self.top(torch.cat([low, products], -1)))


@network
def recommendation(s: Size) -> Network:
    return Dlrm(s.width), [R(4 * s.batch, 13), words(4 * s.batch, 4, 3)]


class PointNet(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.each = nn.Sequential(
            nn.Conv1d(3, width, 1), nn.BatchNorm1d(width), nn.ReLU(), nn.Conv1d(width, 2 * width, 1)
        )
        self.out = nn.Linear(2 * width, 10)

    def forward(self, points):
        return self.out(self.each(points).amax(-1))


@network
def point_net(s: Size) -> Network:
    return PointNet(s.width), [R(s.batch, 3, 8 * s.length)]


class Dcgan(nn.Module):
    """A generator of images, and one that judges them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        up = {"kernel_size": 4, "stride": 2, "padding": 1, "bias": False}
        self.made = nn.Sequential(
            nn.ConvTranspose2d(16, width, 4, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.ConvTranspose2d(width, width, **up), nn.BatchNorm2d(width), nn.ReLU(),
            nn.ConvTranspose2d(width, 3, **up), nn.Tanh())  # fmt: skip
        self.judged = nn.Sequential(
            nn.Conv2d(3, width, **up), nn.LeakyReLU(0.2), nn.Conv2d(width, width, **up),
            nn.BatchNorm2d(width), nn.LeakyReLU(0.2), nn.Conv2d(width, 1, 4))  # fmt: skip

    def forward(self, noise):
        judged = self.judged(self.made(noise)).flatten()
        return F.binary_cross_entropy_with_logits(judged, torch.ones_like(judged))


@network
def dcgan(s: Size) -> Network:
    return Dcgan(s.width), [R(s.batch, 16, 1, 1)]
