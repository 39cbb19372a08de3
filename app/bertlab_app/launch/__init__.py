"""What `bertlab app` gives to Streamlit; apart from the pages, for which Streamlit would look beside its script."""
