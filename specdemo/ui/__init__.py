"""The page: what stands on it, what happens when something is pressed, and its words."""
