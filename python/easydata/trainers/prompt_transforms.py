"""The trainer transforms under the import path of easydel.trainers."""

from easydata.trainers import *  # noqa: F403
