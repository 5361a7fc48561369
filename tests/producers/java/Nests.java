import io.openlineage.client.Clients;
import io.openlineage.client.OpenLineage;
import io.openlineage.client.OpenLineage.RunEvent.EventType;
import io.openlineage.client.OpenLineageClient;
import java.net.URI;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.UUID;

/** A program that reports its own runs by the Java client: one is done, one fails, one is never heard of again. */
public final class Nests {
    private static final OpenLineage OL = new OpenLineage(URI.create("https://example.invalid/nests"));
    private static OpenLineageClient client;

    public static void main(String[] arguments) throws Exception {
        client = Clients.newClient();
        client.emit(OL.newJobEventBuilder().eventTime(now()).job(job("weigh")).inputs(birds(null)).build());
        client.emit(OL.newDatasetEventBuilder().eventTime(now()).dataset(weightsAlone()).build());
        weigh();
        photograph();
        emit(EventType.START, UUID.randomUUID(), "listen", null, birds(null), List.of());
        readByTheOtherName();
        client.close();
    }

    private static void weigh() {
        UUID run = UUID.randomUUID();
        emit(EventType.START, run, "weigh", null, birds(null), weights(null));
        emit(EventType.RUNNING, run, "weigh", null, birds(null), weights(10L));
        emit(EventType.COMPLETE, run, "weigh", null, birds(checks()), weights(42L));
    }

    private static void photograph() {
        UUID run = UUID.randomUUID();
        OpenLineage.RunFacets error = OL.newRunFacetsBuilder()
                .errorMessage(OL.newErrorMessageRunFacet("it is dark in nest 4", "JAVA", null)).build();
        emit(EventType.START, run, "photograph", null, birds(null), List.of());
        emit(EventType.FAIL, run, "photograph", error, birds(null), List.of());
    }

    private static void readByTheOtherName() {
        UUID run = UUID.randomUUID();
        List<OpenLineage.InputDataset> table =
                List.of(OL.newInputDatasetBuilder().namespace("hive://meta.example:9083").name("nests.weights").build());
        emit(EventType.START, run, "tell", null, table, List.of());
        emit(EventType.COMPLETE, run, "tell", null, table, List.of());
    }

    private static void emit(EventType type, UUID run, String name, OpenLineage.RunFacets facets,
            List<OpenLineage.InputDataset> inputs, List<OpenLineage.OutputDataset> outputs) {
        client.emit(OL.newRunEventBuilder().eventType(type).eventTime(now()).run(OL.newRun(run, facets))
                .job(job(name)).inputs(inputs).outputs(outputs).build());
    }

    private static ZonedDateTime now() {
        return ZonedDateTime.now(ZoneOffset.UTC);
    }

    private static OpenLineage.Job job(String name) {
        return OL.newJob("nests", name, OL.newJobFacetsBuilder()
                .documentation(OL.newDocumentationJobFacet("What is done to nests: " + name, "text/plain")).build());
    }

    private static List<OpenLineage.InputDataset> birds(OpenLineage.DataQualityAssertionsDatasetFacet checks) {
        return List.of(OL.newInputDatasetBuilder().namespace("postgres://db.example:5432").name("nests.public.birds")
                .inputFacets(OL.newInputDatasetInputFacetsBuilder().dataQualityAssertions(checks).build()).build());
    }

    private static OpenLineage.DataQualityAssertionsDatasetFacet checks() {
        return OL.newDataQualityAssertionsDatasetFacet(List.of(
                OL.newDataQualityAssertionsDatasetFacetAssertionsBuilder()
                        .assertion("not_null").column("weight").success(false).severity("warn").build(),
                OL.newDataQualityAssertionsDatasetFacetAssertionsBuilder()
                        .assertion("row_count").success(true).expected("42").actual("42").build()));
    }

    private static OpenLineage.DatasetFacets weightsFacets() {
        return OL.newDatasetFacetsBuilder().symlinks(OL.newSymlinksDatasetFacet(List.of(
                OL.newSymlinksDatasetFacetIdentifiers("hive://meta.example:9083", "nests.weights", "TABLE")))).build();
    }

    private static List<OpenLineage.OutputDataset> weights(Long rows) {
        OpenLineage.OutputDatasetOutputFacets statistics = rows == null ? null : OL.newOutputDatasetOutputFacetsBuilder()
                .outputStatistics(OL.newOutputStatisticsOutputDatasetFacet(rows, rows * 100, 1L)).build();
        return List.of(OL.newOutputDatasetBuilder().namespace("s3://nests").name("weights")
                .facets(weightsFacets()).outputFacets(statistics).build());
    }

    private static OpenLineage.StaticDataset weightsAlone() {
        return OL.newStaticDataset("s3://nests", "weights", weightsFacets());
    }
}
