"""Models that the tests, the demo and the benchmarks run on: small, seeded, shaped as the field exports them.

Each module builds one network. Where it makes sense it has two faces of the same weights:

    dynamic(...)          sizes are computed in the graph; runs at every size
    static(size...)       what a trace at that size writes: each size a constant

Names do not depend on the size, so the constants that differ between two traces of one network are the frozen ones:
`truth.frozen(a, b)` lists them.
"""
