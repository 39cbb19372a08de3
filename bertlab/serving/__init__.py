"""The HTTP server of `bertlab serve`: predictions as JSON.

options      the settings
server       binds the address, and runs the application until a signal arrives
application  the FastAPI application: requests in, replies out
fields       the routes and the fields of their requests
body_limit   the maximum size of a request
errors       errors as JSON, in the language of the client
dispatcher   distributes requests over the worker processes
queue        the requests that wait, and which of them are computed as one batch
workers      starts and stops a worker process, and exchanges messages with it
worker       the code of a worker process: opens the checkpoint, and computes predictions
metrics      counters and times for Prometheus
"""
