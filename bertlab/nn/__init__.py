"""The BERT model, the recording of its intermediate tensors (`trace.py`) and changes to them (`interventions.py`)."""
