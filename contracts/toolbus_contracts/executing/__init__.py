"""
What every executor does alike, as pure rules: large values, permission to make an effect, and what an attempt came to.

The plumbing around them is `toolbus_runtime.executing`.
"""
