"""One GPU: torch for memory and linear algebra, Triton for fused loops. Nothing here is imported before a fit asks for a card."""
