"""The four pillars: todos, context, open loops, intentions. Pure data and functions.

`model` and `facts` are the vocabulary, `fold` makes events of facts and states of events,
`overlay` lays a leaf's tasks over what lasts, `join` puts namespaces together, `codec` writes and
reads JSON, `status` and `brief` say it in words.
"""
