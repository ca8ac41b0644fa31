"""Golden decision traces: recorded measurements in, decisions out; changed only on purpose."""
