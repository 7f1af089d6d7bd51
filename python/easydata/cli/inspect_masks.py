"""`easydata inspect --mask`: what of a config's rows a trainer will train on."""

import dataclasses
import itertools
from typing import Any

from easydata.cli.flags import UsageError
from easydata.cli.report import Report
from easydata.core.config import PipelineConfig
from easydata.execution.context import PipelineContext
from easydata.execution.stages import SourceStage, dataset_transform
from easydata.transforms.trainer_examples import gives_examples


def inspect_masks(config: PipelineConfig, rows: int, skip: int, report: Report) -> None:
    """Shows rows `skip` .. `skip + rows` of each dataset that is made into examples."""
    found: list[dict[str, Any]] = []
    with_transform = [dataset for dataset in config.datasets if dataset.transform is not None]
    for dataset in with_transform:
        transform = dataset_transform(dataset, PipelineContext(config))
        if not gives_examples(transform):
            continue
        plain = dataclasses.replace(dataset, transform=None)
        alone = dataclasses.replace(config, datasets=[plain])
        (source,) = SourceStage().process({}, PipelineContext(alone)).values()
        for number, row in enumerate(itertools.islice(iter(source), skip, skip + rows), skip):
            report.line(f"dataset {dataset.name!r}, row {number}")
            try:
                explained = transform.explain(row)
            except (KeyError, TypeError, ValueError) as error:
                said = error.args[0] if error.args else str(error)
                found.append({"dataset": dataset.name, "row": number, "error": said})
                report.line(f"error: {said}")
                continue
            found.append({"dataset": dataset.name, "row": number, **explained.to_dict()})
            if not report.as_json:
                for line in explained.lines(marks=not report.console.is_terminal):
                    report.line(line)
    if not found and not with_transform:
        raise UsageError("no dataset of the config has a transform that makes examples")
    report.result({"rows": found})
