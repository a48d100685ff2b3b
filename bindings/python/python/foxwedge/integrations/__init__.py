"""Repairs histories inside agent frameworks. Every module imports its framework, and this package imports none.

All decisions are made by `foxwedge.fix`; a module only translates messages, and a valid history is left alone.
"""
