"""Simulates two GPUs in any Python process that has this directory on PYTHONPATH; see gpu.cpp.

    PYTHONPATH=tests/simulated_gpu python -m pytest -m cuda

This file replaces what torch does for GPUs in Python or in kernels that a CPU lacks: `torch.cuda`, variable-length
attention, and NCCL, whose collectives gloo performs. Shapes: T tokens of one row, X tokens of all rows, N heads, D head
size. The C++ is compiled once for each version of torch.
"""

import ctypes
import hashlib
import os
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain, pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
GPUS = 2


def compile_library() -> Path:
    """Compile gpu.cpp to a library in build/, unless it is there."""
    source, torch = HERE / "gpu.cpp", Path(find_spec("torch").origin).parent
    digest = hashlib.blake2b(source.read_bytes() + f"{torch} {version('torch')}".encode(), digest_size=6).hexdigest()
    library = HERE.parents[1] / "build" / f"simulated-gpu-{digest}.so"
    if not library.is_file():
        library.parent.mkdir(exist_ok=True)
        building = library.with_suffix(f".{os.getpid()}")
        flags = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-DUSE_DISTRIBUTED"]
        paths = [f"-I{torch}/include", f"-L{torch}/lib", f"-Wl,-rpath,{torch}/lib"]
        subprocess.run([*flags, *paths, str(source), "-o", str(building), "-lc10", "-ltorch_cpu"], check=True)
        building.rename(library)
    return library


ctypes.CDLL(str(compile_library()))  # before torch looks for GPUs

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn import functional  # noqa: E402

# -- torch.cuda

ANSWERS = {
    "_lazy_init": None, "synchronize": None, "reset_peak_memory_stats": None, "memory_allocated": 0,
    "max_memory_allocated": 0, "is_available": True, "is_initialized": True, "is_bf16_supported": True,
    "device_count": GPUS, "get_device_capability": (8, 0), "get_device_name": "simulated GPU",
    "manual_seed": None, "manual_seed_all": None, "set_rng_state": None,  # random numbers are the CPU's
}  # fmt: skip
for name, answer in ANSWERS.items():
    setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
torch.cuda.get_rng_state = lambda *_: torch.get_rng_state()
torch.cuda.current_device = torch.accelerator.current_device_index
torch.cuda.set_device = torch.accelerator.set_device_index
torch.backends.cuda.is_flash_attention_available = lambda: True


# -- attention

plain = functional.scaled_dot_product_attention


def attention(query, key, value, attn_mask=None, dropout_p=0.0, **options):
    """Unfused attention on the simulated GPU, which has no fused kernels."""
    if not query.is_cuda:
        return plain(query, key, value, attn_mask=attn_mask, dropout_p=dropout_p, **options)
    assert not options
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    scores = scores if attn_mask is None else scores + attn_mask
    return torch.dropout(scores.softmax(-1), dropout_p, train=True) @ value


functional.scaled_dot_product_attention = attention


def rows(begins, *tensors):
    """Each row's part of [X, N, D], as [N, T, D] in float32 on the CPU."""
    for begin, end in pairwise(begins.tolist()):
        yield [tensor[begin:end].float().cpu().transpose(0, 1) for tensor in tensors]


def probabilities(query, key, left_to_right):
    scores = query @ key.transpose(1, 2) * query.shape[-1] ** -0.5
    if left_to_right:
        scores = scores.masked_fill(torch.ones(scores.shape[1:]).triu(1).bool(), float("-inf"))
    return scores.softmax(-1)


def dropout_mask(shape, dropout, generator):
    """Factors for the probabilities: 0 where one is dropped, 1 / (1 - dropout) elsewhere."""
    return (torch.rand(shape, generator=generator) >= dropout) / (1 - dropout)


def joined(parts, like):
    """[N, T, D] of each row -> [X, N, D]."""
    return torch.cat([part.transpose(0, 1) for part in parts]).to(like)


def forward(query, key, value, begins, begins_key, longest, longest_key, dropout, left_to_right, debug):
    assert begins.is_cuda
    assert begins.dtype == torch.int32
    assert query.dtype != torch.float32
    assert begins is begins_key or torch.equal(begins, begins_key)
    assert longest == longest_key >= max(end - begin for begin, end in pairwise(begins.tolist()))
    seed = torch.randint(1 << 62, ())
    generator, outputs = torch.Generator().manual_seed(int(seed)), []
    for q, k, v in rows(begins, query, key, value):
        probs = probabilities(q, k, left_to_right)
        outputs.append(probs * dropout_mask(probs.shape, dropout, generator) @ v)
    unused = query.new_empty(0)
    return joined(outputs, query), unused, seed.to(query.device), unused, unused


def backward(grad, query, key, value, out, logsumexp, begins, begins_key, *rest):
    _, _, dropout, left_to_right, seed, *_ = rest
    generator, grads = torch.Generator().manual_seed(int(seed)), []
    for g, q, k, v in rows(begins, grad, query, key, value):
        probs = probabilities(q, k, left_to_right)
        keep = dropout_mask(probs.shape, dropout, generator)
        to_probs = g @ v.transpose(1, 2) * keep
        to_scores = probs * (to_probs - (to_probs * probs).sum(-1, keepdim=True)) * q.shape[-1] ** -0.5
        grads.append((to_scores @ k, to_scores.transpose(1, 2) @ q, (probs * keep).transpose(1, 2) @ g))
    return tuple(joined(parts, query) for parts in zip(*grads, strict=True))


operators = torch.library.Library("aten", "IMPL", "CUDA")
operators.impl("_flash_attention_forward", forward)
operators.impl("_flash_attention_backward", backward)


# -- NCCL


class Gloo(dist.ProcessGroup):
    """Gloo, with copies through CPU memory for tensors on a GPU."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self.gloo = dist.ProcessGroupGloo(dist.PrefixStore("gloo", store), rank, size, timeout)

    def getBackendName(self):
        return "simulated"

    def allreduce(self, tensors, options=None):
        gloo_options = dist.AllreduceOptions()
        if options:
            gloo_options.reduceOp = options.reduceOp
        return self._through_cpu(tensors, lambda copies: self.gloo.allreduce(copies, gloo_options))

    def broadcast(self, tensors, options):
        gloo_options = dist.BroadcastOptions()
        gloo_options.rootRank, gloo_options.rootTensor = options.rootRank, options.rootTensor
        return self._through_cpu(tensors, lambda copies: self.gloo.broadcast(copies, gloo_options))

    def allgather(self, outputs, tensors, options=None):
        copies = [[tensor.cpu() for tensor in group] for group in outputs]
        self.gloo.allgather(copies, [tensor.cpu() for tensor in tensors]).wait()
        for output, copy in zip(chain(*outputs), chain(*copies), strict=True):
            output.copy_(copy)
        return completed(outputs)

    def barrier(self, opts=None):
        return self.gloo.barrier()

    @torch.no_grad()
    def _through_cpu(self, tensors, collective):
        copies = [tensor.detach().cpu() for tensor in tensors]
        collective(copies).wait()
        for tensor, copy in zip(tensors, copies, strict=True):
            tensor.copy_(copy)
        return completed(tensors)


def completed(result):
    future = torch.futures.Future()
    future.set_result(result)
    return torch._C._distributed_c10d._create_work_from_future(future)


def init_process_group(backend, *, begin=dist.init_process_group, **options):
    return begin(backend.replace("cpu:gloo,cuda:nccl", "simulated"), **options)


dist.Backend.register_backend("simulated", Gloo, devices=["cpu", "cuda"])
dist.init_process_group = init_process_group
