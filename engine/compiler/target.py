"""The processor that kernels are compiled for, its instruction sets, and LLVM's code generator for it."""

from __future__ import annotations

import os
from functools import cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm


class CompileTarget(NamedTuple):
    """LLVM's name of a processor and its features ("+avx2,-avx512f,...")."""

    cpu: str
    features: str

    def has(self, feature: str) -> bool:
        """Return whether code may use ``feature``, an LLVM feature name."""
        return f"+{feature}" in self.features.split(",")

    def runs(self, other: CompileTarget) -> bool:
        """Return whether code for ``other`` runs here, and no instruction of it is slow here."""
        return set(other.features.split(",")) <= set(self.features.split(",")) and (self.bmi2 or not other.bmi2)

    @property
    def avx512(self) -> bool:
        """Whether there are 512-bit vectors with a shift count, a rotation and a leading-zero count for each lane."""
        return all(self.has(feature) for feature in ("avx512f", "avx512vl", "avx512dq", "avx512bw", "avx512cd"))

    @property
    def gfni(self) -> bool:
        """Whether the processor multiplies 8 x 8 bit matrices, 512 bits at once."""
        return self.avx512 and self.has("gfni")

    @property
    def byte_compression(self) -> bool:
        """Whether the processor moves chosen bytes of 512 bits together, and counts the bits of eight words at once."""
        return self.avx512 and self.has("avx512vbmi2") and self.has("avx512vpopcntdq")

    @property
    def bmi2(self) -> bool:
        """Whether PEXT and PDEP are fast. Zen 1 and Zen 2 have them as microcode, some 18 cycles each."""
        return self.has("bmi2") and self.cpu not in ("znver1", "znver2")

    @property
    def tier(self) -> str:
        """The instruction sets that kernels use, described for people."""
        if self.avx512:
            return "AVX-512 with GFNI" if self.gfni else "AVX-512"
        if self.has("avx2"):
            return "AVX2 with BMI2" if self.bmi2 else "AVX2"
        return "plain"


_X86_64_V2 = "+cx16,+sahf,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3,+sse2"
_X86_64_V3 = _X86_64_V2 + ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
_X86_64_V4 = _X86_64_V3 + ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
_NAMED = {"x86-64-v2": _X86_64_V2, "x86-64-v3": _X86_64_V3, "x86-64-v4": _X86_64_V4}
SHIPPED = tuple(CompileTarget(name, features) for name, features in reversed(_NAMED.items()))
"""The targets of code that comes with the program, the best first."""


@cache
def initialise() -> None:
    """Initialise LLVM's code generator; `target_machine` calls it. Cheap, and done once in a process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def host_target() -> CompileTarget:
    """Return this machine's target, or the one that NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name, as numba reads them."""
    name = os.environ.get("NUMBA_CPU_NAME", "")
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if name and name != "host":
        return CompileTarget(name, features if features is not None else _NAMED.get(name, ""))
    return CompileTarget(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def target_machine(target: CompileTarget) -> Any:
    """Return LLVM's code generator for ``target`` on this operating system."""
    initialise()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="default", codemodel="jitdefault", jit=True
    )
