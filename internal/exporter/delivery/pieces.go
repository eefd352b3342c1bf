package delivery

import (
	"iter"
	"reflect"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const (
	// pointsOfPiece is how many data points one export has, as a rule. To encode them takes about a
	// millisecond.
	pointsOfPiece = 128
	// mostPieces bounds the exports of one collection, each of which may wait for an answer: where
	// they do not do, they are larger.
	mostPieces = 32
)

// pieces yields rm, which has n data points, in pieces of at most most, for one export each, with
// their numbers of data points. Scopes and metrics keep their order, and a metric whose points do
// not fit goes on in the next piece. Metrics without points are left out.
func pieces(rm *metricdata.ResourceMetrics, n, most int) iter.Seq2[*metricdata.ResourceMetrics, int] {
	return func(yield func(*metricdata.ResourceMetrics, int) bool) {
		if n == 0 {
			return
		}
		if n <= most {
			yield(rm, n)
			return
		}
		piece, room := &metricdata.ResourceMetrics{Resource: rm.Resource}, most
		for _, scope := range rm.ScopeMetrics {
			begun := false // in this piece
			for _, m := range scope.Metrics {
				for from, end := 0, Points(m.Data); from < end; {
					if room == 0 {
						if !yield(piece, most) {
							return
						}
						piece, room, begun = &metricdata.ResourceMetrics{Resource: rm.Resource}, most, false
					}
					if !begun {
						piece.ScopeMetrics = append(piece.ScopeMetrics, metricdata.ScopeMetrics{Scope: scope.Scope})
						begun = true
					}
					to := min(end, from+room)
					part := m
					part.Data = cut(m.Data, from, to)
					last := &piece.ScopeMetrics[len(piece.ScopeMetrics)-1]
					last.Metrics = append(last.Metrics, part)
					room -= to - from
					from = to
				}
			}
		}
		if room < most {
			yield(piece, most-room)
		}
	}
}

// DataPoints is the number of data points of rm; a metric of an unknown kind counts as one.
func DataPoints(rm *metricdata.ResourceMetrics) int {
	n := 0
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			n += Points(m.Data)
		}
	}
	return n
}

// Points is the number of data points of a metric, 1 of an unknown kind: not zero, or the exporter
// would not be asked and refuse it.
func Points(data metricdata.Aggregation) int {
	if points := pointsOf(reflect.ValueOf(data)); points.IsValid() {
		return points.Len()
	}
	return 1
}

// pointsOf is the slice of data points of a metric, the zero Value for an unknown kind. All known
// kinds are structs that have it under one name.
func pointsOf(data reflect.Value) reflect.Value {
	if data.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return data.FieldByName("DataPoints")
}

// cut returns data with the data points from from to before to alone; one of an unknown kind as it
// is.
func cut(data metricdata.Aggregation, from, to int) metricdata.Aggregation {
	if !pointsOf(reflect.ValueOf(data)).IsValid() {
		return data
	}
	out := reflect.New(reflect.TypeOf(data)).Elem()
	out.Set(reflect.ValueOf(data))
	points := pointsOf(out)
	points.Set(points.Slice(from, to))
	return out.Interface().(metricdata.Aggregation)
}
