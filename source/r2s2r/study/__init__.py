"""The study: every stage from a cell's calibration to the table of policies, as one resumable run."""
