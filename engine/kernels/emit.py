"""Helpers that emit LLVM code: scalars at the edges of an intrinsic, vectors inside."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from desdaemon.engine.compiler import INTERPRETED, interpreted
from desdaemon.engine.compiler.target import host_target

TARGET = host_target()
AVX512 = TARGET.avx512
GFNI = TARGET.gfni
BYTE_COMPRESSION = TARGET.byte_compression

AVX2 = TARGET.has("avx2")
"""Whether there are 256-bit vectors with a shift count for each lane."""

BMI2 = TARGET.bmi2

i1, i8, i16, i32, i64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
v4 = ir.VectorType(i64, 4)
v8 = ir.VectorType(i64, 8)

u64 = types.uint64
s64 = types.int64
void = types.void


MASK = (1 << 64) - 1

U = interpreted.U64 if INTERPRETED else np.uint64
"""Makes an unsigned 64-bit constant."""

_SIGNATURE_NAMES = {u64: "u64", s64: "i64", void: "void"}


def simple(emit, python, returns, *arguments):
    """Return an intrinsic whose code ``emit(builder, *values)`` emits; ``returns`` and ``arguments`` are numba types.

    ``python(*values)`` computes the same on plain integers, for kernels that run as Python; the result is cut to 64
    bits.
    """
    if INTERPRETED:
        names = ",".join(_SIGNATURE_NAMES[kind] for kind in arguments)
        return interpreted.intrinsic(python, "made", f"{_SIGNATURE_NAMES[returns]}({names})")
    signature = returns(*arguments)

    def generate(context, builder, _signature, values):
        value = emit(builder, *values)
        return context.get_dummy_value() if returns is void else value

    names = ", ".join(f"a{k}" for k in range(len(arguments)))
    namespace = {"answer": (signature, generate)}
    exec(f"def made({'context, ' + names if names else 'context'}):\n    return answer", namespace)
    return intrinsic(namespace["made"])


def const(value, kind=i64):
    return ir.Constant(kind, value & ((1 << kind.width) - 1))


def vector(values, kind=i64):
    return ir.Constant(ir.VectorType(kind, len(values)), [const(value, kind) for value in values])


def external(b, name, returns, arguments):
    """Return the declaration of an LLVM intrinsic function; it is added to the builder's module if missing."""
    function = b.module.globals.get(name)
    return function or ir.Function(b.module, ir.FunctionType(returns, arguments), name=name)


def call(b, name, returns, *values):
    return b.call(external(b, name, returns, [value.type for value in values]), values)


def splat(b, x, lanes):
    kind = ir.VectorType(x.type, lanes)
    empty = ir.Constant(kind, ir.Undefined)
    return b.shuffle_vector(
        b.insert_element(empty, x, const(0, i32)), empty, ir.Constant(ir.VectorType(i32, lanes), None)
    )


def table(b, name, values, kind=i64):
    """Return the constant array ``name`` of the builder's module, made of ``values`` at its first use.

    Linked modules share one copy, so a name must stand for the same values everywhere.
    """
    array = b.module.globals.get(name)
    if array is None:
        shape = ir.ArrayType(kind, len(values))
        array = ir.GlobalVariable(b.module, shape, name)
        array.linkage = "linkonce_odr"
        array.global_constant = True
        array.align = 64
        array.initializer = ir.Constant(shape, [const(value, kind) for value in values])
    return array


def table_address(b, name, values, kind=i64):
    return b.ptrtoint(table(b, name, values, kind), i64)


def table_element(b, name, values, index, kind=i64):
    return b.load(b.gep(table(b, name, values, kind), [const(0), index]))


def load(b, address, kind, align):
    value = b.load(b.inttoptr(address, kind.as_pointer()))
    value.align = align
    return value


def store(b, value, address, align):
    b.store(value, b.inttoptr(address, value.type.as_pointer())).align = align


def reduce(b, operation, v):
    kind = v.type.element
    return call(b, f"llvm.vector.reduce.{operation}.v{v.type.count}i{kind.width}", kind, v)


def constant_table(name, values, kind):
    """Return an intrinsic without arguments that gives the address of the constant array ``name`` of ``values``,
    integers of the LLVM type ``kind``.
    """
    return simple(
        lambda b: table_address(b, name, values, kind), lambda: interpreted.constant(name, values, kind.width), u64
    )


def lookup64(name, values):
    """Return an intrinsic that looks up one of the 64-bit ``values`` by its index (u64)."""
    return simple(lambda b, x: table_element(b, name, values, x), lambda x: values[x], u64, u64)


def lookup8(name, values):
    """Return an intrinsic that looks up one of the signed 8-bit ``values`` by its index (u64)."""
    return simple(lambda b, x: b.sext(table_element(b, name, values, x, i8), i64), lambda x: values[x], s64, u64)
