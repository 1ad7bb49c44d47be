"""AdaBoost: rounds, stumps, and the game that boosting plays."""
