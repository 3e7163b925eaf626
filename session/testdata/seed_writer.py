"""A writer of status.json in another language, as the protocol describes it.

seed_writer.py SESSION_DIR AGENT_ID COUNT   updates the agent COUNT times and
                                            counts in its member "updates"
seed_writer.py SESSION_DIR AGENT_ID hold    takes the lock, says so, and stays
seed_writer.py SESSION_DIR AGENT_ID 2.5s    updates the agent for that long and
                                            prints how long each update took
"""

import json
import sys
import time
from pathlib import Path


def acquire(lock: Path) -> None:
    while True:
        try:
            lock.mkdir()
            return
        except FileExistsError:
            time.sleep(0.05)


def summarise(agents: list) -> dict:
    summary = {
        "total": len(agents),
        "queued": 0,
        "running": 0,
        "complete": 0,
        "failed": 0,
        "cancelled": 0,
    }
    for agent in agents:
        status = agent.get("status", "queued")
        if status in summary:
            summary[status] += 1
    return summary


def update(session_dir: Path, agent_id: str, changes: dict) -> None:
    lock = session_dir / "status.json.lock"
    acquire(lock)
    try:
        status_file = session_dir / "status.json"
        status = json.loads(status_file.read_text())
        for agent in status["agents"]:
            if agent["id"] == agent_id:
                agent.update(changes)
                agent["updates"] = agent.get("updates", 0) + 1
                break
        status["summary"] = summarise(status["agents"])
        tmp = status_file.with_suffix(".json.tmp")
        tmp.write_text(json.dumps(status, indent=2))
        tmp.rename(status_file)
    finally:
        lock.rmdir()


def measure(session_dir: Path, agent_id: str, seconds: float) -> None:
    waits, start = [], time.monotonic_ns()
    while time.monotonic_ns() - start < seconds * 1e9:
        began = time.monotonic_ns()
        update(session_dir, agent_id, {"exit_code": len(waits)})
        waits.append(time.monotonic_ns() - began)
    print(json.dumps({"took": time.monotonic_ns() - start, "waits": waits}))


def main() -> None:
    session_dir, agent_id, count = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    if count == "hold":
        acquire(session_dir / "status.json.lock")
        print("held", flush=True)
        sys.stdin.read()
        return
    if count.endswith("s"):
        measure(session_dir, agent_id, float(count[:-1]))
        return
    for i in range(1, int(count) + 1):
        state = "complete" if i == int(count) else "running"
        update(session_dir, agent_id, {"status": state})


if __name__ == "__main__":
    main()
