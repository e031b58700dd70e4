# Every image of the product: docker build --build-arg PACKAGE=millstream-broker -t millstream-broker .
#
# BASE is any image with `python3` (3.11 or newer) and its venv module; without a registry, tests/e2e/images makes one from
# Debian's packages. Two optional build secrets carry a machine's own package index into the steps that need it and never
# into a layer: `index` (a file of `export UV_...=` lines) and `certificates` (the authorities it trusts).
ARG BASE=docker.io/library/python:3.14-slim

# The workspace's wheels: the same for every image, so built once.
FROM ${BASE} AS wheels
ENV UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy
WORKDIR /build
COPY requirements-uv.lock ./
RUN --mount=type=secret,id=index --mount=type=secret,id=certificates \
    if [ -e /run/secrets/index ]; then . /run/secrets/index; fi; \
    python3 -m venv /opt/uv \
    && /opt/uv/bin/python -m pip install --quiet --no-cache-dir --require-hashes -r requirements-uv.lock
COPY pyproject.toml ./
COPY libs libs
COPY services services
COPY operator operator
COPY cli cli
# Constraints that name the wheels' files: no index is asked for a package of ours, whoever may have taken its name there.
RUN --mount=type=secret,id=index --mount=type=secret,id=certificates \
    if [ -e /run/secrets/index ]; then . /run/secrets/index; fi; \
    /opt/uv/bin/uv build --quiet --wheel --all-packages --out-dir wheels \
    && for wheel in wheels/*.whl; do \
         name=$(basename "$wheel"); echo "${name%%-*} @ file:///build/$wheel"; \
       done > workspace.txt

FROM wheels AS install
ARG PACKAGE
COPY requirements.lock ./
# The lock constrains versions and hashes; only what the package needs is installed.
RUN --mount=type=secret,id=index --mount=type=secret,id=certificates --mount=type=cache,target=/root/.cache/uv \
    if [ -e /run/secrets/index ]; then . /run/secrets/index; fi; \
    test -n "$PACKAGE" \
    && /opt/uv/bin/uv venv --quiet --python "$(command -v python3)" /opt/millstream \
    && /opt/uv/bin/uv pip install --quiet --compile-bytecode --python /opt/millstream/bin/python \
         --constraint requirements.lock --constraint workspace.txt "$PACKAGE"

FROM ${BASE}
ARG PACKAGE
COPY --from=install /opt/millstream /opt/millstream
# A user without a name confuses programs that ask for it; the directory is where a volume goes.
RUN echo 'millstream:x:10001:10001::/var/lib/millstream:/usr/sbin/nologin' >> /etc/passwd \
    && echo 'millstream:x:10001:' >> /etc/group \
    && install -d -o 10001 -g 10001 /var/lib/millstream \
    && module=$(echo "$PACKAGE" | tr - _).main \
    && printf '#!/bin/sh\nexec python -m %s "$@"\n' "$module" > /usr/local/bin/millstream-start \
    && chmod 0755 /usr/local/bin/millstream-start
ENV PATH=/opt/millstream/bin:$PATH PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /var/lib/millstream
ENTRYPOINT ["/usr/local/bin/millstream-start"]
