"""What analyses tell, as documents, for the tests of publishing."""

from __future__ import annotations

from typing import Any

STAMPS = {
    "analysisTime": "2026-09-10T10:00:00Z",
    "analysisWindowStart": "2026-08-11T10:00:00Z",
    "analysisWindowEnd": "2026-09-10T10:00:00Z",
    "analysisService": "lineagelog",
}
WINDOW = {"from": "2026-08-11T10:00:00+00:00", "to": "2026-09-10T10:00:00+00:00"}


def document(analysis: str, *results: dict[str, Any], findings: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "analysis": analysis,
        "window": WINDOW,
        "results": list(results),
        "findings": list(findings),
        "insufficient": 0,
    }


def subject(kind: str, name: str, namespace: str = "ns") -> dict[str, Any]:
    return {"kind": kind, "namespace": namespace, "name": name}


def profile(name: str, **properties: str) -> dict[str, Any]:
    return {"subject": subject("job", name), "properties": {**STAMPS, "runsInWindow": "3", **properties}}


def scope(name: str, **properties: str) -> dict[str, Any]:
    return {"subject": subject("dataset", name), "properties": {**STAMPS, "writesInWindow": "3", **properties}}


def quality(kind: str, name: str, **scores: int) -> dict[str, Any]:
    annotations = [
        {
            "qualityDimension": dimension,
            "qualityScore": score,
            "sampleSize": 100,
            "summary": f"{dimension}: {score} passed, {100 - score} failed ({score}%)",
            "qualityDescription": f"Pass rate between {WINDOW['from']} and {WINDOW['to']}.",
        }
        for dimension, score in scores.items()
    ]
    properties = {**STAMPS, "overallPassRate": "97", "dimensions": ", ".join(scores)}
    report = {
        "displayName": f"Quality of {name}",
        "analysisStep": "SUMMARISE",
        "completionTime": STAMPS["analysisWindowEnd"],
        "explanation": "Derived from the log store.",
    }
    return {"subject": subject(kind, name), "properties": properties, "annotations": annotations, "report": report}


def finding(name: str, number: int = 1, kind: str = "dataset", severity: str = "high", **more: Any) -> dict[str, Any]:
    return {
        "finding_id": f"00000000-0000-0000-0000-{number:012}",
        "analysis": "stale_dataset",
        "subject": subject(kind, name),
        "severity": severity,
        "status": "OPEN",
        "observed": "3 days old",
        "expected": "1 day old",
        "lower": None,
        "upper": 1.5,
        "score": 2.0,
        "method": "gaps",
        "n": 20,
        "first_seen": "2026-09-09T10:00:00Z",
        "last_seen": "2026-09-10T10:00:00Z",
        "run_ids": ["r1", "r2"],
        "explanation": f"{name} is 3 days old.",
        **more,
    }
