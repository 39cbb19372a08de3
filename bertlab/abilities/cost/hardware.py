"""The speed and the price of GPUs and CPUs, to estimate how long a number of FLOP takes and what it costs.

The peaks are those of dense matrix products with float32 accumulation; many data sheets state twice as much, which only
sparse matrices reach. Training reaches only a share of a peak. Prices are assumptions, not offers: replace them with
your own.
"""

from dataclasses import dataclass

_NVIDIA = "https://www.nvidia.com/en-us/data-center/"
# The default for the share of its published peak that a GPU reaches in training. Well-tuned training of transformers
# reaches about this share (Chowdhery et al. 2022, PaLM, arXiv 2204.02311, table 3: 21 to 46 %).
GPU_SHARE = 0.4
# On a CPU, a step takes FLOP / (CPU_SHARE * peak) * (1 + CPU_WIDTH / H): the work outside of matrix products grows with
# the hidden size H, and the FLOP of the matrix products with H squared. CPU_SHARE and CPU_WIDTH, both by precision, are
# fitted to the measured times of steps of the presets tiny to base (docs/lab-notebook.md).
CPU_SHARE = {"bfloat16": 0.88, "float32": 0.88}
CPU_WIDTH = {"bfloat16": 130, "float32": 72}
CPU_PRICE = 0.05  # US dollars per hour and core
GIB = 2**30  # bytes


@dataclass(frozen=True)
class Gpu:
    """The published data of a GPU."""

    name: str
    """Its name."""
    half_tflops: float
    """The dense peak of matrix products in bfloat16 or float16, in 10^12 FLOP per second."""
    float32_tflops: float
    """The peak in float32, without tensor cores."""
    memory_gib: int
    """Its memory in GiB."""
    price: float
    """An assumed price in US dollars per hour."""
    source: str
    """The address of the vendor's data sheet or white paper."""
    has_bfloat16: bool = True
    """Whether it multiplies bfloat16 matrices; if not, bertlab trains in float32, and `half_tflops` is for float16."""

    def peak_flops(self, precision: str) -> float:
        """Return the published peak in FLOP per second.

        Args:
            precision: float32 or bfloat16.
        """
        return 1e12 * (self.half_tflops if precision == "bfloat16" else self.float32_tflops)


# {name of a GPU: its published data}; the arguments are in the order of the fields of `Gpu`
GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("T4", 65, 8.1, 16, 0.4, f"{_NVIDIA}tesla-t4/", has_bfloat16=False),
        Gpu("V100 SXM2", 125, 15.7, 32, 2.0, f"{_NVIDIA}v100/", has_bfloat16=False),
        Gpu(
            "RTX 3090", 71, 35.6, 24, 0.25,
            "https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf",
        ),
        Gpu("L4", 121, 30.3, 24, 0.7, f"{_NVIDIA}l4/"),
        Gpu(
            "RTX 4090", 165.2, 82.6, 24, 0.4,
            "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf",
        ),
        Gpu("A100 SXM", 312, 19.5, 80, 1.8, f"{_NVIDIA}a100/"),
        Gpu("H100 SXM", 989, 67, 80, 3.0, f"{_NVIDIA}h100/"),
        Gpu("H200 SXM", 989, 67, 141, 3.5, f"{_NVIDIA}h200/"),
    )
}  # fmt: skip


def estimate_cpu_share(hidden_size: int, precision: str) -> float:
    """Estimate the share of a CPU's measured peak that bertlab's training reaches.

    >>> round(estimate_cpu_share(768, "bfloat16"), 2) > round(estimate_cpu_share(128, "bfloat16"), 2)
    True
    """
    return CPU_SHARE[precision] / (1 + CPU_WIDTH[precision] / hidden_size)


def estimate_seconds(flop: float, peak_flops: float, share: float, devices: int = 1) -> float:
    """Estimate the time of a computation, FLOP / (share * peak * devices), without communication between devices.

    >>> estimate_seconds(1e15, 100e12, 0.5, devices=2)
    10.0
    """
    return flop / (peak_flops * share * devices)
