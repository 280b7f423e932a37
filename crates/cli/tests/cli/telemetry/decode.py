"""Reads requests with the official types, which refuse what they do not know, and prints how much there was."""

import base64
import json
import sys

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def plain(value):
    """OTLP writes ids as hexadecimal digits where the usual JSON of these types has base64."""
    if isinstance(value, dict):
        decoded = {}
        for key, inner in value.items():
            if key in IDS:
                raw = bytes.fromhex(inner)
                assert len(raw) == IDS[key] and any(raw), (key, inner)
                inner = base64.b64encode(raw).decode()
            decoded[key] = plain(inner)
        return decoded
    return [plain(inner) for inner in value] if isinstance(value, list) else value


spans, metrics = [], []
for body in json.load(open(sys.argv[1])):
    if "resourceSpans" in body:
        read = ParseDict(plain(body), ExportTraceServiceRequest())
        spans += [span for r in read.resource_spans for s in r.scope_spans for span in s.spans]
    else:
        read = ParseDict(plain(body), ExportMetricsServiceRequest())
        metrics += [metric for r in read.resource_metrics for s in r.scope_metrics for metric in s.metrics]
for span in spans:
    assert span.end_time_unix_nano >= span.start_time_unix_nano > 10**18, span
for metric in metrics:
    for point in metric.histogram.data_points:
        assert sum(point.bucket_counts) == point.count and len(point.bucket_counts) == len(point.explicit_bounds) + 1
        assert point.min <= point.max <= point.sum or point.count == 1, point
print(f"{len(spans)} spans, {len(metrics)} metrics")
