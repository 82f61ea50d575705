{{- define "punctual.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "punctual.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "punctual.labels" -}}
{{ include "punctual.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "punctual.secret" -}}
{{ .Values.existingSecret | default (include "punctual.name" .) }}
{{- end -}}

{{- define "punctual.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $_ := set $config "http" (merge (dict "addr" ":8080") ($config.http | default dict)) -}}
{{ toYaml $config }}
{{- end -}}

{{/* What every container has. Arguments: root, name, args, resources. */}}
{{- define "punctual.container" -}}
name: {{ .name }}
image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: {{ toJson .args }}
envFrom:
  - secretRef: { name: {{ include "punctual.secret" .root }} }
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- with .resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - { name: config, mountPath: /etc/punctual, readOnly: true }
  - { name: data, mountPath: /var/lib/punctual/data }
  - { name: tmp, mountPath: /tmp }
{{- end -}}

{{/* What every pod has around its containers. */}}
{{- define "punctual.pod" -}}
serviceAccountName: {{ include "punctual.name" . }}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: config
    configMap: { name: {{ include "punctual.name" . }} }
  - name: data
    emptyDir: {}
  - name: tmp
    emptyDir: {}
{{- end -}}

{{/* Arguments: root, component, role, replicas, resources. */}}
{{- define "punctual.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "punctual.name" .root }}{{ if eq .component "worker" }}-worker{{ end }}
  labels:
    {{- include "punctual.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  {{- if not (and .root.Values.autoscaling.enabled (eq .component "server")) }}
  replicas: {{ .replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "punctual.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  strategy:
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  template:
    metadata:
      labels:
        {{- include "punctual.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
      {{- if or .root.Values.secret .root.Values.podAnnotations }}
      annotations:
        {{- with .root.Values.secret }}
        # Environment variables do not follow a secret: new values restart the pods.
        checksum/secret: {{ toJson . | sha256sum }}
        {{- end }}
        {{- with .root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
    spec:
      {{- include "punctual.pod" .root | nindent 6 }}
      # The process stops within 10 s.
      terminationGracePeriodSeconds: 20
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "punctual.selector" .root | nindent 14 }}
              app.kubernetes.io/component: {{ .component }}
      containers:
        - {{- include "punctual.container" (dict "root" .root "name" "punctual" "resources" .resources "args" (list "serve" "--config" "/etc/punctual/config.yaml" "--role" .role)) | nindent 10 }}
          ports:
            - { name: http, containerPort: 8080 }
          # Migrations of large tables may take minutes.
          startupProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 2
            failureThreshold: 300
          livenessProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 10
            timeoutSeconds: 3
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /readyz, port: http }
            periodSeconds: 5
            timeoutSeconds: 3
{{- end -}}
