import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    """The matrices here are too small for several threads."""
    with threadpool_limits(1):
        yield
