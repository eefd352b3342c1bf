// What a dashboard of collector-config is checked against: Grafana's own types, narrowed to the panels that we use, with options of
// each panel's type. Queries have the fields of their data source, which the schema leaves open.
import type * as schema from '@grafana/schema';
import type * as heatmap from '@grafana/schema/dist/types/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen.d.ts';
import type * as table from '@grafana/schema/dist/types/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen.d.ts';
import type * as timeseries from '@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen.d.ts';
import type * as xychart from '@grafana/schema/dist/types/raw/composable/xychart/panelcfg/x/XYChartPanelCfg_types.gen.d.ts';

// As JSON has it: an enum of strings is a string. What is left out has its default.
type Given<T> = T extends string
  ? `${T}`
  : T extends readonly (infer E)[]
    ? Given<E>[]
    : T extends object
      ? { [K in keyof T]?: Given<T[K]> }
      : T;

interface Prometheus extends schema.DataQuery {
  editorMode?: 'code' | 'builder';
  exemplar?: boolean;
  expr: string;
  format?: 'time_series' | 'table' | 'heatmap';
  instant?: boolean;
  interval?: string;
  legendFormat?: string;
  range?: boolean;
}

interface Jaeger extends schema.DataQuery {
  queryType: 'search';
  service: string;
  operation?: string;
  limit?: number;
}

// An annotation has these beside its query, of Prometheus.
interface Annotation extends Omit<schema.AnnotationQuery<Prometheus>, 'target'> {
  target: Prometheus;
  tagKeys?: string;
  textFormat?: string;
  titleFormat?: string;
  useValueForTime?: boolean;
}

interface Variable extends Omit<schema.VariableModel, 'query'> {
  type: 'query';
  query: { query: string; refId: string };
}

type Transformation = { disabled?: boolean; filter?: schema.MatcherConfig } & (
  | { id: 'convertFieldType'; options: { conversions: { targetField: string; destinationType: 'number' | 'string' | 'time' }[] } }
  | { id: 'merge'; options: Record<string, never> }
  | { id: 'organize'; options: { excludeByName?: Record<string, boolean>; indexByName?: Record<string, number>; renameByName?: Record<string, string> } }
  | { id: 'sortBy'; options: { sort: { field: string; desc?: boolean }[] } }
);

interface FieldConfig<F> extends Omit<Given<schema.FieldConfig>, 'custom'> {
  custom?: Given<F>;
}

interface Panel<Type extends string, Options, F>
  extends Omit<schema.Panel, 'type' | 'options' | 'fieldConfig' | 'targets' | 'transformations'> {
  type: Type;
  options: Given<Options>;
  fieldConfig: Omit<schema.FieldConfigSource, 'defaults'> & { defaults: FieldConfig<F> };
  targets: (Prometheus | Jaeger)[];
  transformations?: Transformation[];
}

export interface Dashboard extends Omit<schema.Dashboard, 'annotations' | 'panels' | 'templating'> {
  annotations: { list: Annotation[] };
  templating: { list: Variable[] };
  panels: (
    | Panel<'heatmap', heatmap.Options, heatmap.FieldConfig>
    | Panel<'table', table.Options, table.FieldConfig>
    | Panel<'timeseries', timeseries.Options, timeseries.FieldConfig>
    | Panel<'xychart', xychart.Options, xychart.FieldConfig>
  )[];
}
