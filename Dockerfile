# docker build -t rocketd . && docker run -p 9876:9876 -p 10911:10911 rocketd --advertise localhost
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/rocketd . && mkdir /out/data

FROM scratch
COPY --from=build /out/rocketd /rocketd
# Named volumes take over the directory's owner, so that the process need not be root.
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
ENV ROCKETD_DATA_DIR=/data ROCKETD_HOST=0.0.0.0
VOLUME /data
EXPOSE 9876 10911
ENTRYPOINT ["/rocketd"]
