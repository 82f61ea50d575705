# docker build -t punctual .
# The page, then the program that carries it, then an image with little else.

FROM node:22-bookworm-slim AS page
WORKDIR /src/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN npm ci
COPY web/ ./
RUN npm run build

FROM golang:1.26-bookworm AS program
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=page /src/web/dist/ web/dist/
RUN CGO_ENABLED=0 go build -tags=nomsgpack -trimpath -buildvcs=false -ldflags='-s -w' -o /punctual .

FROM alpine:3.22
RUN apk add --no-cache ca-certificates \
 && adduser -D -H -u 10001 -h /var/lib/punctual punctual \
 && install -d -o punctual -g punctual /var/lib/punctual /var/lib/punctual/data
COPY --from=program /punctual /usr/local/bin/punctual
COPY config.yaml LICENSE /etc/punctual/
USER punctual
WORKDIR /var/lib/punctual
VOLUME /var/lib/punctual/data
EXPOSE 8080
# A worker (--role worker) answers it too.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["punctual", "health", "--config", "/etc/punctual/config.yaml"]
ENTRYPOINT ["punctual"]
CMD ["serve", "--config", "/etc/punctual/config.yaml"]
