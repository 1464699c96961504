"""Where the tests find their server. In the client's repository this is kubernetes/e2e_test/base.py, which its source
distribution does not have."""

from kubernetes.client import Configuration
from kubernetes.config import load_kube_config


def get_e2e_configuration():
    config = Configuration()
    load_kube_config(client_configuration=config)
    config.assert_hostname = False
    return config
