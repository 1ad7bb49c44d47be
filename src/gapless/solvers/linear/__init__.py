"""Linear problems: hinge, squared hinge, logistic loss, with a penalty."""
