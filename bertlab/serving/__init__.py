"""The HTTP server of `bertlab serve`: predictions as JSON.

options      the settings
fields       the routes and the fields of their requests
application  the FastAPI application: requests in, replies out, errors as JSON
dispatcher   the queue, the batches and the worker processes
workers      a worker process as its parent sees it
worker       what runs in a worker process: the checkpoint and its predictions
"""
