"""Owners of fields, as server-side apply knows them.

`tracking` says what a write does to an object's `managedFields`; it rests on `managers` (who owns what), `comparing`
and `merging` (objects), `sets` (of fields) and `shapes` (how parts of each kind are owned). `checking` is the check of
what is applied, `scales` translates between an object and its Scale.
"""
