# docker build -t punctual .
# docker buildx build --platform linux/amd64,linux/arm64 -t punctual .
# The page, then the program that carries it, then an image with nothing but the program, certificates
# of public authorities and the commented config.yaml. Zone data are in the program.

ARG NODE_IMAGE=node:22-bookworm-slim
ARG GO_IMAGE=golang:1.26-bookworm

# Both stages run on the machine that builds: the page is the same everywhere, and Go compiles for others.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS page
WORKDIR /src/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN npm ci
COPY web/ ./
RUN npm run build

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS program
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=page /src/web/dist/ web/dist/
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=linux GOARCH=$TARGETARCH go build -tags=nomsgpack -trimpath -buildvcs=false -ldflags='-s -w' -o /root/image/usr/local/bin/punctual . \
 && cd /root/image \
 && install -D -m 0644 -t etc/ssl/certs /etc/ssl/certs/ca-certificates.crt \
 && install -D -m 0644 -t etc/punctual /src/config.yaml /src/LICENSE \
 && install -d -m 1777 tmp \
 && install -d -o 65532 -g 65532 var/lib/punctual var/lib/punctual/data \
 && echo 'punctual:x:65532:65532::/var/lib/punctual:/' >etc/passwd \
 && echo 'punctual:x:65532:' >etc/group

FROM scratch
COPY --from=program /root/image/ /
USER 65532:65532
WORKDIR /var/lib/punctual
VOLUME /var/lib/punctual/data
EXPOSE 8080
# A worker (--role worker) answers it too.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["/usr/local/bin/punctual", "health", "--config", "/etc/punctual/config.yaml"]
ENTRYPOINT ["/usr/local/bin/punctual"]
CMD ["serve", "--config", "/etc/punctual/config.yaml"]
