"""
Secrets in use: where they are found, who may have them, and that none of them leaves.

`sources` are the table, a folder and the environment, in this order; `resolver` asks them; `held` is what one attempt
has of them; `known` lets logs be searched for all that were used lately. Storing them is the integrations service's.
"""
