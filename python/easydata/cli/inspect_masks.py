"""`easydata inspect --mask`: what of a config's rows a trainer will train on."""

import dataclasses
import itertools
from typing import Any

from easydata.cli.flags import read_config
from easydata.cli.report import Report
from easydata.cli.usage import UsageError
from easydata.execution.context import PipelineContext
from easydata.execution.stages import SourceStage, dataset_transforms
from easydata.sources.create import has_transforms
from easydata.transforms.trainer_examples import gives_examples


def inspect_masks(file: str, rows: int, skip: int, report: Report) -> None:
    """Shows rows `skip` .. `skip + rows` of each dataset that is made into examples."""
    config = read_config(file)
    found: list[dict[str, Any]] = []
    with_transform = [dataset for dataset in config.datasets if has_transforms(dataset)]
    for dataset in with_transform:
        steps = dataset_transforms(dataset, PipelineContext(config))
        transform = next(filter(gives_examples, steps), None)
        if transform is None:
            continue
        plain = dataclasses.replace(dataset, transform=None, transforms=None)
        alone = dataclasses.replace(config, datasets=[plain])
        (source,) = SourceStage().process({}, PipelineContext(alone)).values()
        for step in steps[: steps.index(transform)]:
            source = source.transform(step)
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
