"""Data sets of the Hugging Face Hub: what is there, and which files a split is."""
