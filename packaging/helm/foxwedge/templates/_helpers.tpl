{{- define "foxwedge.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "foxwedge.labels" -}}
app.kubernetes.io/name: foxwedge
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
