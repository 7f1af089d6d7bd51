"""`easydata push`: a finished output to the Hub."""

from easydata.cli.report import InterruptedJobError, Report
from easydata.execution.push.hub_push import push_to_hub


def push(
    folder: str,
    repo_id: str,
    private: bool,
    token: str | None,
    config_name: str | None,
    report: Report,
) -> None:
    """Pushes, and prints the address of the repository."""
    try:
        url = push_to_hub(folder, repo_id, private=private, token=token, config_name=config_name)
    except KeyboardInterrupt as interrupt:
        raise InterruptedJobError(getattr(interrupt, "__notes__", [])) from interrupt
    report.line(url)
    report.result({"url": url})
