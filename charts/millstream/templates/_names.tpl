{{- define "millstream.cluster" -}}
{{ .Values.cluster.name | default .Release.Name }}
{{- end -}}

{{- define "millstream.image" -}}
{{- $registry := .root.Values.images.registry -}}
{{ if $registry }}{{ trimSuffix "/" $registry }}/{{ end }}millstream-{{ .role }}:{{ .root.Values.images.tag }}
{{- end -}}

{{- define "millstream.labels" -}}
app.kubernetes.io/part-of: millstream
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
