"""
The process of one provider: it loads that provider and nothing of the service, and runs its methods.

It is told what to do in frames (`frames.py`, `messages.py`) over a socket that it inherits; what a method sees of its
call is `call.py`, and its only ways out are in `network.py`.
"""
