import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    """The matrices here are small: more threads only wait for one another."""
    with threadpool_limits(1):
        yield
