# docker build -t rocketd . && docker run -p 9876:9876 -p 10911:10911 rocketd
#
# Clients on the host connect to localhost:9876 and are told 127.0.0.1:10911. For others, say what they reach the host by:
#   docker run -p 9876:9876 -p 10911:10911 rocketd --advertise mq.example.com
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/rocketd . && mkdir /out/data /out/tmp

FROM scratch
COPY --from=build /out/rocketd /rocketd
# Named volumes take over the directory's owner, so that the process need not be root.
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/tmp /tmp
USER 65532:65532
# Tells rocketd that it is in this image: it then listens on all addresses, tells clients 127.0.0.1, keeps its files in /data, and its console is
# reached where its port is published, read-only (httpWrites=all opens it). Files, variables and flags say otherwise as everywhere.
ENV container=rocketd
VOLUME /data
# name server, broker, the broker's second port for old Java clients (two below), console with metrics and health
EXPOSE 9876 10911 10909 10988
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/rocketd", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/rocketd"]
